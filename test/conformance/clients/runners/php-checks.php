<?php
/** Checks of the client for PHP that need its own types. Arguments: what, address, client id, secret, file of the cache. */

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Orderpass\ApiException;
use Orderpass\CallOptions;
use Orderpass\Decimal;
use Orderpass\Json;
use Orderpass\Orderpass;
use Orderpass\OrderpassException;
use Orderpass\TokenCache;
use Orderpass\Type;
use Orderpass\Webhook;

require __DIR__ . '/php-autoload.php';
require __DIR__ . '/php-curl.php';

[, $what, $url, $clientId, $clientSecret, $file] = $argv;

final class FileCache implements TokenCache
{
    public function __construct(private readonly string $file)
    {
    }

    public function get(string $key): ?string
    {
        return $this->all()[$key] ?? null;
    }

    public function set(string $key, string $value, int $ttlSeconds): void
    {
        file_put_contents($this->file, json_encode([$key => $value] + $this->all()));
    }

    /** Moves the times of every token, as if it were older. */
    public function age(callable $change): void
    {
        $changed = array_map(static function (string $one) use ($change): string {
            $entry = json_decode($one, true);
            return json_encode(isset($entry['value']) ? $change($entry) : $entry);
        }, $this->all());
        file_put_contents($this->file, json_encode($changed));
    }

    /** @return array<string, string> */
    private function all(): array
    {
        return is_file($this->file) ? json_decode(file_get_contents($this->file), true) : [];
    }
}

$cache = new FileCache($file);
$client = new Orderpass($url, new Psr17Factory(), clientId: $clientId, clientSecret: $clientSecret, retries: 0, tokens: $cache);

$kind = static function () use ($client): string {
    try {
        return $client->whoami->get()->credential->kind;
    } catch (ApiException $error) {
        return $error->errorCode;
    }
};

$refused = static function (callable $act): int {
    try {
        $act();
        return 0;
    } catch (OrderpassException) {
        return 1;
    }
};

$found = match ($what) {
    'call' => $kind(),
    'near' => (static function () use ($cache, $kind): string {
        $cache->age(static fn (array $token): array => ['renewAt' => microtime(true) - 1] + $token);
        return $kind();
    })(),
    // Two calls of a client that repeats, while each renewal fails.
    'early' => (static function () use ($cache, $url, $clientId, $clientSecret): array {
        $cache->age(static fn (array $token): array => ['renewAt' => microtime(true) - 1] + $token);
        $one = static fn (): string => (new Orderpass(
            $url,
            new Psr17Factory(),
            clientId: $clientId,
            clientSecret: $clientSecret,
            backoff: 0.01,
            tokens: $cache,
        ))->whoami->get()->credential->kind;
        return [$one(), $one()];
    })(),
    'ended' => (static function () use ($cache, $kind): string {
        $cache->age(static fn (array $token): array => ['renewAt' => 0, 'endsAt' => microtime(true) - 1] + $token);
        return $kind();
    })(),
    // Another process renews the token that this one has in memory, and whose next call is refused.
    'meanwhile' => (static function () use ($cache, $client, $kind, $url, $clientId, $clientSecret): string {
        $kind();
        $cache->age(static fn (array $token): array => ['renewAt' => microtime(true) - 1] + $token);
        $other = new Orderpass($url, new Psr17Factory(), clientId: $clientId, clientSecret: $clientSecret, tokens: $cache);
        $other->whoami->get();
        $client->orders->listPage();
        return $kind();
    })(),
    'times' => (static function () use ($url): array {
        $menu = new Type\MenuImportRequest(posUid: 'till', updateMode: 'merge', categories: [], products: []);
        $times = [];
        foreach ([[null, null], [null, 7.0], [9.0, null]] as [$ofClient, $ofCall]) {
            $own = new Orderpass($url, new Psr17Factory(), apiKey: 'opk_none', timeout: $ofClient);
            try {
                $own->menu->importMenu($menu, new CallOptions(timeout: $ofCall));
            } catch (ApiException) {
                $times[] = $GLOBALS['timeouts'][\CURLOPT_TIMEOUT_MS];
            }
        }
        return $times;
    })(),
    'moved' => [
        'moved' => $kind(),
        'addresses' => array_sum(array_map(
            static fn (string $address): int => 1 - $refused(static fn () => new Orderpass($address, new Psr17Factory(), apiKey: 'opk_')),
            ['http://api.example', 'api.example', 'https://api.example/api', 'https://u:p@api.example', 'ftp://api.example'],
        )),
    ],
    'keys' => array_map(static fn (string $key): int => $refused(
        static fn () => $client->customers->create(new Type\NewCustomer(email: 'a@example.com'), new CallOptions(idempotencyKey: $key)),
    ), ['', 'a b', "a\n", 'schlüssel', str_repeat('a', 256)]),
    'values' => [
        'hundredths' => array_map(
            static fn (string $digits): int => Decimal::of($digits)->toHundredths(),
            ['26.62', '0.08', '-1.05', '0', '10000000.000'],
        ),
        'texts' => array_map(static fn (int $count): string => (string) Decimal::ofHundredths($count), [2662, 8, -105, 0, 1_000_000_000]),
        'sent' => Json::encode(new Type\ImportedProduct(
            extId: 'P',
            categoryExtId: 'C',
            name: 'N',
            price: Decimal::of('8.10'),
            pricesTable: ['0' => Decimal::of(0.29), '1' => Decimal::of('9.95')],
        )),
        'read' => array_map(
            static fn (string $json): string => (string) Json::decimal(json_decode($json), 'price'),
            ['8.10', '43.769562', '0.07', '8994899004.97', '199799998002.37', '0.000001'],
        ),
        'refused' => array_sum(array_map(
            static fn (string $digits): int => $refused(static fn () => Decimal::of($digits)),
            ['8,1', '1e3', '.5', '--1', "8.10\n", '1234567890123456'],
        )),
        'change' => Json::encode(new Type\CustomerChange(uid: 'cus_1', email: 'a@example.com', lastName: null)),
        'emptyList' => Json::encode(new Type\ImportedProduct(extId: 'P', categoryExtId: 'C', name: 'N', price: Decimal::of(0), options: [])),
        'unknown' => (static function (): string {
            $event = Webhook::parse('{"event":"order.invented","id":"evt_9","seq":1}');
            return "{$event->name()} {$event->id()}";
        })(),
        'removed' => (static function (): string {
            $customer = Webhook::parse(json_encode([
                'event' => 'customer.changed', 'customer' => ['uid' => 'cus_1'], 'id' => 'evt_1', 'created' => '', 'restuid' => '',
                'seq' => 1, 'previous_seq' => null, 'change' => 'removed', 'changed_fields' => [],
            ]))->customer;
            return substr($customer::class, strlen('Orderpass\\Type\\')) . " $customer->uid";
        })(),
        'wrongAnswer' => (static function (): string {
            try {
                Type\Order::from(['uid' => 7]);
                return '';
            } catch (OrderpassException $error) {
                return $error->getMessage();
            }
        })(),
    ],
};

ini_set('serialize_precision', '-1');
echo json_encode($found, JSON_THROW_ON_ERROR), "\n";
