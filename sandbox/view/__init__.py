"""What commands can see of the machine and of the home folder."""
