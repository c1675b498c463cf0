/** The peer of the webhook bench: a bare loop that signs and posts with undici, and keeps nothing. */
import { generateKeyPairSync } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { tuneForFewCores } from '#src/platform/tune-memory.ts';
import { signHex, signV1, signV1a } from '#src/webhooks/signing/sign.ts';

type Deliveries = { urls: string[]; secret: string; body: string };
/** `count` deliveries as fast as they go. */
type Burst = Deliveries & { count: number };
/** `each` deliveries every `gapMs`, and beside them `probes` to `probeUrl`, one every `probeGapMs`. */
type Pace = Deliveries & { each: number; gapMs: number; probeUrl: string; probes: number; probeGapMs: number };

tuneForFewCores();

const connections = 64;
const { privateKey } = generateKeyPairSync('ed25519');
const agent = new Agent({ pipelining: 1, connections, keepAliveTimeout: 600_000, keepAliveMaxTimeout: 600_000 });

const post = async ({ urls, secret, body }: Deliveries, number: number, id = `evt_${number}`): Promise<void> => {
  const parts = { id, timestampSeconds: Math.floor(Date.now() / 1000), body };
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

const run = async (order: Burst): Promise<void> => {
  let started = 0;
  const drive = async (): Promise<void> => {
    while (started < order.count) {
      started += 1;
      await post(order, started);
    }
  };
  await Promise.all(Array.from({ length: connections }, drive));
};

/** Calls `send` every `gapMs` until `isOver`, with the wall clock at which the call was due: a late one counts from then. */
const every = async (gapMs: number, isOver: (turn: number) => boolean, send: (turn: number, dueMs: number) => void) => {
  const startedMs = performance.now();
  for (let turn = 0; !isOver(turn); turn += 1) {
    const dueMs = startedMs + turn * gapMs;
    await sleep(Math.max(0, dueMs - performance.now()));
    send(turn, performance.timeOrigin + dueMs);
  }
};

/** When each probe was due, by its id. */
const runPaced = async (order: Pace): Promise<Record<string, number>> => {
  const due: Record<string, number> = {};
  // Counted and not kept: a list of promises makes each collection of young objects longer.
  let openCount = 0;
  const start = (...what: Parameters<typeof post>): void => {
    openCount += 1;
    void post(...what).then(() => {
      openCount -= 1;
    });
  };
  let isOver = false;
  const load = every(
    order.gapMs,
    () => isOver,
    (turn) => {
      for (let i = 0; i < order.each; i += 1) start(order, turn * order.each + i);
    },
  );
  await sleep(1_000);
  await every(
    order.probeGapMs,
    (turn) => turn === order.probes,
    (turn, dueMs) => {
      const id = `probe_${turn}`;
      due[id] = dueMs;
      start({ ...order, urls: [order.probeUrl] }, 0, id);
    },
  );
  isOver = true;
  await load;
  while (openCount > 0) await sleep(10);
  return due;
};

process.stdout.write('{}\n');
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Burst | Pace;
  const due = 'count' in order ? await run(order) : await runPaced(order);
  process.stdout.write(`${JSON.stringify({ due })}\n`);
}
process.exit(0);
