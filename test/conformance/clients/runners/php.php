<?php
/** Runs the steps of a scenario with the client for PHP. Classes come from the client and from the packages of Debian. */

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Orderpass\ApiException;
use Orderpass\CallOptions;
use Orderpass\Omitted;
use Orderpass\Orderpass;
use Orderpass\OrderpassException;
use Orderpass\TransportException;
use Orderpass\Type;
use Orderpass\Webhook;
use Orderpass\WebhookEvent;
use Orderpass\WebhookException;

require __DIR__ . '/php-autoload.php';

/** @var array<string, Orderpass> $clients */
$clients = [];

$names = ['backoffSeconds' => 'backoff', 'retryAfterMaxSeconds' => 'retryAfterMax', 'timeoutSeconds' => 'timeout'];

/** The method, and its request read as the class that the method takes. */
$methodOf = static function (array $step) use (&$clients): array {
    [$group, $name] = explode('.', $step['operation']);
    $operations = $clients[$step['client']]->{$group};
    $class = (new ReflectionMethod($operations, $name))->getParameters()[0]->getType()?->getName();
    return [$operations->{$name}(...), $class::from($step['arguments'])];
};

function entityOf(WebhookEvent $event): string
{
    return match (true) {
        $event instanceof Type\CustomerChangedEvent => $event->customer->uid,
        $event instanceof Type\LoyaltylogCreatedEvent => $event->loyaltylog->uid,
        $event instanceof Type\MenuChangedEvent => (string) $event->menu->version,
        $event instanceof Type\OrderNewEvent,
        $event instanceof Type\OrderCountdownStartedEvent,
        $event instanceof Type\OrderTimeoutEvent,
        $event instanceof Type\OrderConfirmedEvent,
        $event instanceof Type\OrderClosedEvent,
        $event instanceof Type\OrderCancelledEvent => $event->order->uid,
        default => '',
    };
}

/** Of a new order; null in a body that was too long. */
function linesOf(WebhookEvent $event): ?int
{
    $details = $event instanceof Type\OrderNewEvent ? $event->order->details : null;
    return $details === null ? null : count($details);
}

$steps = [
    'open' => static function (array $step) use (&$clients, $names): array {
        $options = ['factory' => new Psr17Factory()];
        foreach ($step['options'] as $name => $value) {
            $options[$names[$name] ?? $name] = $value;
        }
        $clients[$step['client']] = new Orderpass(...$options);
        return [];
    },
    'call' => static function (array $step) use ($methodOf): array {
        [$method, $request] = $methodOf($step);
        $answer = null;
        $given = $step['options'] ?? [];
        $key = array_key_exists('idempotencyKey', $given) ? $given['idempotencyKey'] : Omitted::Member;
        $value = $method($request, new CallOptions($key, $given['timeoutSeconds'] ?? null, static function ($got) use (&$answer): void {
            $answer = $got;
        }));
        $info = ['status' => $answer->status, 'requestId' => $answer->requestId, 'replayed' => $answer->replayed];
        return ['value' => $value, 'info' => $info + ['attempts' => $answer->attempts]];
    },
    'iterate' => static function (array $step) use ($methodOf): array {
        [$method, $request] = $methodOf($step);
        $found = [];
        foreach ($method($request) as $item) {
            $found[] = $item;
            if (count($found) === $step['limit']) {
                break;
            }
        }
        return ['value' => $found];
    },
    // A PHP process makes one call at a time.
    'parallel' => static function (array $step) use ($methodOf): array {
        [$method, $request] = $methodOf($step);
        return ['value' => array_map(static fn () => $method($request), range(1, $step['times']))];
    },
    'verify' => static function (array $step): array {
        $now = isset($step['now']) ? (float) $step['now'] : null;
        $event = Webhook::verify($step['secrets'], $step['headers'], $step['body'], now: $now);
        $value = ['event' => $event->name(), 'entity' => entityOf($event)];
        return ['value' => $value + ['lines' => linesOf($event), 'isTest' => $event->isTest()]];
    },
];

function describe(Throwable $error): array
{
    $last = $error->getPrevious() instanceof OrderpassException ? describe($error->getPrevious()) : null;
    if ($error instanceof ApiException) {
        return [
            'kind' => 'api',
            'code' => $error->errorCode,
            'status' => $error->status,
            'requestId' => $error->requestId,
            'missingScopes' => $error->missingScopes,
            'errors' => $error->errors,
            'retryAfter' => $error->retryAfter,
            'last' => $last,
        ];
    }
    $kind = match (true) {
        $error instanceof TransportException => 'transport',
        $error instanceof WebhookException => 'webhook',
        default => 'other',
    };
    return ['kind' => $kind, 'message' => (string) $error, 'last' => $last];
}

/** Lines of standard input, or of a file that grows until a line `end`: PHP for WebAssembly cannot wait for its input (php-wasm.sh). */
function lines(?string $path): Generator
{
    $input = fopen($path ?? 'php://stdin', 'r');
    for ($line = ''; $line !== "end\n"; ) {
        $part = fgets($input);
        if ($part === false && $path === null) {
            return;
        }
        $line .= (string) $part;
        if (str_ends_with($line, "\n") && $line !== "end\n") {
            yield $line;
            $line = '';
        } elseif ($part === false) {
            usleep(3000);
            fseek($input, ftell($input));
        }
    }
}

foreach (lines($argv[1] ?? null) as $line) {
    $step = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
    try {
        $answer = $steps[$step['do']]($step);
    } catch (Throwable $error) {
        $answer = ['error' => describe($error)];
    }
    echo json_encode((object) ($answer + ['id' => $step['id']]), JSON_THROW_ON_ERROR), "\n";
}
