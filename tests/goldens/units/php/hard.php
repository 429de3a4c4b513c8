#!/usr/bin/env php
<!DOCTYPE html>
<html><body>
<?php
/**
 * Licence.
 */

declare(strict_types=1);

namespace App\Hard;

use App\Models\User;
use App\Contracts\{Readable, Writable as W};
use function App\helper, App\other;
use const App\LIMIT;
use Foo as Bar;

require_once __DIR__ . '/vendor/autoload.php';
include 'other.php';

const LIMIT = 3;

/**
 * The main class.
 *
 * @template T
 */
#[Attribute(Attribute::TARGET_CLASS)]
#[Other]
abstract class Hard extends Base implements Readable, W
{
    use Countable, Loggable {
        Countable::count as protected total;
    }

    public const A = 1, B = 'class NotAClass {}';
    private static ?self $instance = null;
    protected array $handlers = [];

    /** Makes one. */
    public function __construct(
        private readonly int $a,
        protected string $b = "x {$y} ${z}",
    ) {
        $this->handlers['x'] = function ($e) use ($a) {
            return $e;
        };
    }

    #[\ReturnTypeWillChange]
    public static function &create(int|string ...$args): static|null
    {
        $double = fn ($x) => $x * 2;
        $closure = static function () { return 1; };

        function nested_in_method() { return 2; }

        $anonymous = new class($double) extends Base implements W {
            public function __construct(private $f) {}
            public function inside(): int { return 1; }
        };

        return new #[Foo] class {
            use Loggable;
            function unnamed() {}
        };
    }

    abstract protected function noBody(int $x): void;

    final public function __get($name) { return $this->$name; }

    // A line comment.
    function overloadedBySpelling() {}

    # A hash comment.
    private function hash(): string
    {
        return <<<SQL
            SELECT function no() {} {$this->a}
            SQL . <<<'RAW'
            class Nope { function nope() {} }
            RAW;
    }

    public function list() {}
    public function été() {}
}

interface Shape extends \Countable
{
    const SIDES = 0;
    public function area(): float;
    public static function unit(): self;
}

/** A trait. */
trait Loggable
{
    abstract function target();
    public static function log(string $m): void { echo $m; }
}

/** An enum. */
enum Suit: string implements HasLabel
{
    case Hearts = 'H';
    #[Label('x')]
    case Spades = 'S';

    const Wild = self::Spades;

    public function label(): string
    {
        return match($this) {
            self::Hearts => 'Hearts',
            default => 'Other',
        };
    }
}

enum Bare { case One; }
final readonly class Money { public function __construct(public int $cents) {} }

if (!function_exists('App\Hard\helper')) {
    /** Defined when absent. */
    function helper(callable $f = null): mixed
    {
        function inner() {
            class InFunction { function deep() {} }
        }
        return $f;
    }
}

function &by_reference(array &$a) { return $a; }
function generator() { yield from other(); }

$handler = function () {
    return 1;
};

?>
<p><?= helper() ?></p>
<script>function notPhp() { return 1; }</script>
<?php if ($x): ?>
  <?php function between_html() { ?>
    <b>bold</b>
  <?php } ?>
<?php endif; ?>
<?php
class AfterHtml { function m() { ?> html <?php } }
