/** The peer of the webhook bench: a bare loop that signs and posts with undici, and keeps nothing. */
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { signHex, signV1, signV1a } from '#src/webhooks/signing/sign.ts';

type Order = { urls: string[]; secret: string; body: string; count: number };

const connections = 64;
const { privateKey } = generateKeyPairSync('ed25519');
const agent = new Agent({ pipelining: 1, connections, keepAliveTimeout: 600_000, keepAliveMaxTimeout: 600_000 });

const post = async ({ urls, secret, body }: Order, number: number): Promise<void> => {
  const parts = { id: `evt_${number}`, timestampSeconds: Math.floor(Date.now() / 1000), body };
  const answer = await request(urls[number % urls.length] ?? '', {
    method: 'POST',
    dispatcher: agent,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Orderpass/1.0.0',
      'webhook-id': parts.id,
      'webhook-timestamp': String(parts.timestampSeconds),
      'webhook-signature': `${signV1(secret, parts)} ${signV1a(privateKey, parts)}`,
      'x-orderpass-signature': signHex(secret, body),
      'x-orderpass-delivery': `dlv_${number}`,
      'x-orderpass-attempt': '1',
    },
  });
  await answer.body.dump();
};

const run = async (order: Order): Promise<void> => {
  let started = 0;
  const drive = async (): Promise<void> => {
    while (started < order.count) {
      started += 1;
      await post(order, started);
    }
  };
  await Promise.all(Array.from({ length: connections }, drive));
};

process.stdout.write('{}\n');
for await (const line of createInterface({ input: process.stdin })) {
  await run(JSON.parse(line) as Order);
  process.stdout.write('{}\n');
}
process.exit(0);
