/**
 * The built-in receiver of the demo: it takes webhooks at `/demo/receiver` as the server of an integrator would, checks the
 * signature and an age of at most five minutes, and shows the last webhooks. It exists for the embedded demo only. Each
 * webhook is appended to a file before the answer, so a restart still shows it.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, statSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { readBody } from '#src/platform/http/read-body.ts';
import { receiverPath } from '../settings/demo-path.ts';
import type { ReceivedWebhook } from './received-webhook.ts';
import { receiverPage } from './receiver-page.ts';

const shownMax = 100;
const fileBytesMax = 5 * 1024 * 1024;

/** Answers requests below `receiverPath`. `secret` is undefined until the demo exists. */
export const createReceiver = (deps: { dataDir: string; secret: () => string | undefined }) => {
  const file = join(deps.dataDir, 'demo-receiver.jsonl');
  let received: ReceivedWebhook[] = readLast(file);

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = (await readBody(request, { bytesMax: 512 * 1024, timeoutMs: 10_000 })).toString('utf8');
    const valid = isSigned(deps.secret(), request, text);
    const webhookId = String(request.headers['webhook-id'] ?? '');
    const body = parse(text);
    const entry: ReceivedWebhook = {
      received: new Date().toISOString(),
      webhook_id: webhookId,
      event: typeof body === 'object' && body !== null && 'event' in body ? String(body.event) : '',
      signature: valid ? 'valid' : 'not valid',
      body,
    };
    if (!valid) return answer(response, 401, entry.signature);
    // Delivered at least once: a repetition has the same id and is shown once.
    if (!received.some((earlier) => earlier.webhook_id === webhookId)) {
      if (existsSync(file) && statSync(file).size > fileBytesMax) renameSync(file, `${file}.1`);
      appendFileSync(file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
      received = [entry, ...received].slice(0, shownMax);
    }
    response.writeHead(204).end();
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? '').split('?', 1)[0];
    if (path === receiverPath && request.method === 'POST') return take(request, response);
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(response, 405, 'Method not allowed');
    if (path === `${receiverPath}/deliveries`) {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
      response.end(`${JSON.stringify({ deliveries: received }, undefined, 2)}\n`);
      return;
    }
    if (path === receiverPath) {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
        'x-content-type-options': 'nosniff',
      });
      response.end(receiverPage(received));
      return;
    }
    answer(response, 404, 'Not found');
  };

  const answerAny: RequestListener = (request, response) => {
    handle(request, response).catch(() => answer(response, 400, 'The request could not be read'));
  };
  return {
    owns: (target: string): boolean => target.startsWith(receiverPath),
    handle: answerAny,
  };
};

const isSigned = (secret: string | undefined, request: IncomingMessage, body: string): boolean => {
  if (secret === undefined) return false;
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': String(request.headers['webhook-id'] ?? ''),
      'webhook-timestamp': String(request.headers['webhook-timestamp'] ?? ''),
      'webhook-signature': String(request.headers['webhook-signature'] ?? ''),
    });
    return true;
  } catch {
    return false;
  }
};

const answer = (response: ServerResponse, status: number, text: string): void => {
  if (response.headersSent) return void response.destroy();
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`);
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

const readLast = (file: string): ReceivedWebhook[] => {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-shownMax);
  // A line that a crash cut short is left out.
  return lines.map(parse).filter(isEntry).reverse();
};

const isEntry = (value: unknown): value is ReceivedWebhook =>
  typeof value === 'object' && value !== null && 'webhook_id' in value;
