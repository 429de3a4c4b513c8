before() {
  echo before
}

unclosed() {
  if true; then
    echo x

after() {
  echo after
}
