import os

# of f
# still
def f(
    a,
):
    return a


@deco
class C:
    """Doc

    more"""

    # of m
    def m(self):  # c
        pass
    x = 1

# apart

def g(): pass