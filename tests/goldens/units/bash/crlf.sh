first() {
  echo 1
}

# Second.
second() {
  echo 2
}
