function first() {
  let a = 2;
  step();
  step();
  return a;
}
function second() {
  return b;
}
