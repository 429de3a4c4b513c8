<h1>No code at all</h1>
<script>class X { m() {} }</script>
