function price(item, count) {
  const base = item.price * count;
  const tax = base * rate;
  log(base, tax, count);
  return base + tax;
}
