"""Sessions that run detached from any terminal: their record, mailbox, questions, and the views of them."""
