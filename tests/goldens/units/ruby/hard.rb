#!/usr/bin/env ruby
# frozen_string_literal: true

# Licence text.

require 'set'
require_relative "lib/other"
autoload :Late, 'late'

# A module.
# With more.
module Outer
  VERSION = '1.0'

  extend self

  # The base.
  class Base < Struct.new(:a, :b)
    include Comparable
    attr_accessor :name, :age
    attr_reader :id
    alias_method :other, :name
    alias to_str to_s
    delegate :x, to: :name

    class << self
      attr_writer :config

      # Makes one.
      def create(*args, **opts, &block)
        new(*args)
      end

      private

      def hidden; end
    end

    def self.from_hash(hash)
      hash.each do |key, value|
        define_method(key) { value }
      end
    end

    def Base.by_constant(a) = new(a)

    def initialize(a, b = 1, *rest, key:, other: 2)
      super(a, b)
    end

    def <=>(other)
      a <=> other.a
    end

    def ==(other) = a == other.a
    def [](index) = @items[index]
    def []=(index, value)
      @items[index] = value
    end
    def +@; self; end
    def !; false; end
    def call(x) = x
    def name=(value)
      @name = value
    end
    def valid? = true
    def save!; end
    def class; super; end
    def `(command); end

    # Private.
    private def secret(x)
      x
    end

    private_class_method def self.internal
      1
    end

    memoize private def both
      2
    end

    protected

    def guarded
      items.map { |i| i + 1 }
           .each do |i|
        def nested_def
          lambda { |y| y }
        end
      end
    end

    # Defined.
    define_method(:dynamic) do |x|
      x
    end

    define_method("by string") { 1 }
    define_method(:from_method, instance_method(:a))
    define_singleton_method(:single) { 1 }

    %w[a b].each do |n|
      define_method("#{n}?") { true }
    end

    class Error < StandardError; end
    Point = Struct.new(:x, :y) do
      def dist
        Math.sqrt(x * x + y * y)
      end
    end
    Coord = Data.define(:lat, :lng) do
      def self.zero = new(0, 0)
    end
    Failure = Class.new(StandardError)
    Other = Class.new(Error) { def message = 'other' }
    Mixin = Module.new do
      def mixed; end
    end
  end

  def self.configure
    yield config
  end

  def helper
    <<~TEXT + <<-'RAW'
      def not_a_method
      end
      #{interpolated do
        1
      end}
    TEXT
      class NotAClass; end
    RAW
  end
  module_function :helper

  module Nested; module Deeper; def self.bottom; end; end; end
end

class Outer::Base
  def reopened
    %q(def no; end)
  end
end

class ::TopLevel < Outer::Base
  def top; end
end

module A::B::C
  class D::E
    def f; end
  end
end

class << Outer
  def on_outer; end
end

obj = Object.new
def obj.singleton
  1
end

# At the top.
def top_level(a)
  if a
    def conditional; end
  end
rescue StandardError => e
  raise
ensure
  done
end

task :build do
  def in_block; end
end

=begin
def in_comment
end
=end
def after_block_comment
end

BEGIN { def in_begin; end }

__END__
def after_end
end
