<?php
class Broken {
    function before() { }
    function missing( { $x = ; }
    function after() { return 1; }
}
function outside() {
    if (true) {
class Unclosed {
    function last() {}
