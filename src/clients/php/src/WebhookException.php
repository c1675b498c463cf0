<?php

declare(strict_types=1);

namespace Orderpass;

/** A delivery whose signature, time or form is not right. Answer it with 400 and use nothing of it. */
final class WebhookException extends OrderpassException
{
}
