require 'spec_helper'

RSpec.describe Widget, type: :model do
  subject(:widget) { described_class.new(1) }
  let(:other) { described_class.new(2) }

  before do
    setup
  end

  def build(x)
    described_class.new(x)
  end

  describe '#size' do
    context "when large" do
      it 'is large' do
        expect(widget.size).to eq 1
      end
      it { is_expected.to be_large }

      let(:klass) do
        Class.new do
          def anonymous_member; end
        end
      end
    end
  end
end

class WidgetTest < Minitest::Test
  test 'works' do
    assert true
  end

  def test_size
    assert_equal 1, 1
  end
end
