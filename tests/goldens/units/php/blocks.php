<?php
namespace First {
    class A { function m() {} }
    function f() {}
}

namespace {
    // Global.
    function g() {}
}

namespace Second\Third {
    use First\A;
    class A { function m() {} }
}
