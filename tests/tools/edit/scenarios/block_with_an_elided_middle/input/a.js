function first() {
  let a = 1;
  step();
  step();
  return a;
}
function second() {
  return b;
}
