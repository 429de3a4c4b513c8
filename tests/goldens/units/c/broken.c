int before(void) { return 1 + }

struct half {
    int a
    b;

int unclosed(int a {
    return a;
}

<<<<<<< HEAD
int ours(void) { return 1; }
=======
int theirs(void) { return 1; }
>>>>>>> branch

int after(void) { return 1; }
