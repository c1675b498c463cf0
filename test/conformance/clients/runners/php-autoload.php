<?php
/** In place of the autoloader of composer: the client of this repository, and packages of Debian. */

declare(strict_types=1);

foreach (['Psr/Http/Client', 'Nyholm/Psr7'] as $package) {
    require "/usr/share/php/$package/autoload.php";
}

spl_autoload_register(static function (string $class): void {
    $client = dirname(__DIR__, 4) . '/src/clients/php';
    $file = "$client/src/" . str_replace('\\', '/', substr($class, strlen('Orderpass\\'))) . '.php';
    if (!str_starts_with($class, 'Orderpass\\')) {
        return;
    }
    if (is_file($file)) {
        require $file;
        return;
    }
    foreach (glob("$client/generated/*.php") ?: [] as $generated) {
        require_once $generated;
    }
});
