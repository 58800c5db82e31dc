class Cart
  def total
    @items.sum
  end

  def empty?
    @items.none?
  end
end

class Order
  def total
    @items.sum
  end
end
