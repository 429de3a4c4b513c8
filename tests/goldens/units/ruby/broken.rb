class Broken
  def before
    1
  end

  def missing(
    x = 
  end

  def after
    2
  end
