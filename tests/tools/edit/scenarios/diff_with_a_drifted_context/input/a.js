function price(item, count) {
  const base = item.price * count;
  const tax = base * 0.19;
  log(base, tax, count);
  return base + tax;
}
