/** The page of the demo receiver: plain HTML, no script, readable on a phone and with a keyboard. */
import { escapeHtml } from '../reference/guide/markdown/escape-html.ts';
import type { ReceivedWebhook } from './received-webhook.ts';

const entry = (webhook: ReceivedWebhook): string => `
<details>
<summary><b>${escapeHtml(webhook.event)}</b> <time>${escapeHtml(webhook.received)}</time> <span>signature ${webhook.signature}</span></summary>
<pre>${escapeHtml(JSON.stringify(webhook.body, undefined, 2))}</pre>
</details>`;

export const receiverPage = (received: readonly ReceivedWebhook[]): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Webhooks received</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 0 auto; padding: 1rem }
summary { cursor: pointer; padding: .5rem 0 }
summary time, summary span { margin-left: .75rem; opacity: .8 }
pre { overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .25rem }
</style>
</head>
<body>
<main>
<h1>Webhooks received</h1>
<p>Newest first, the last ${received.length}; reload to see more. As JSON: <a href="/demo/receiver/deliveries">/demo/receiver/deliveries</a></p>
${received.length === 0 ? '<p>Nothing has arrived yet. Insert an order.</p>' : received.map(entry).join('')}
</main>
</body>
</html>
`;
