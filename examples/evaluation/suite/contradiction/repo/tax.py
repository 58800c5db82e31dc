def tax(amount):
    return amount * 2
