def before(a, b):
    return a +


class Half:
    def fine(self):
        return 1

    def unclosed(self, x=(1, 2:
        return x

    def after_unclosed(self):
        return 2

<<<<<<< HEAD
def ours():
    return 1
=======
def theirs():
    return 2
>>>>>>> branch

def old_python_two():
    print "hello"
    exec "code" in {}

class Also(:
    def lost_or_found(self): pass

def last():
    return 'unterminated
