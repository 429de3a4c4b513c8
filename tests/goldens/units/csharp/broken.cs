namespace Broken {
    class A {
        void Before() { }
        void Missing( { int x = ; }
        int After() { return 1; }
    }
    class B : {
        void InB() { }
