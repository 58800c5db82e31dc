function first() {
  step();
}
