from tax import tax


def test_tax():
    assert tax(10) == 3


def test_tax_of_the_same():
    assert tax(10) == 4
