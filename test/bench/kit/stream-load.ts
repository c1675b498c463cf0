/** Upstream and client of the bench of event streams, in one process: every stream stays open until the process ends. */
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';

const event = 'data: {"kind":"order.created"}\n\n';
/** Connections that are being opened at the same time: more would overflow the queue of the listener. */
const openingMax = 100;

const open = new Set<ServerResponse>();
const upstream = createServer((_req, res) => {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  res.write(event);
  open.add(res);
  res.on('close', () => open.delete(res));
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', 4_096, resolve));

type Target = { url: string; path: string; headers: Record<string, string> };

let received = 0;
let broken = 0;
let noteReceived = (): void => undefined;

/** Resolves when the first event of the stream is there. */
const openStream = ({ url, path, headers }: Target): Promise<void> =>
  new Promise((resolve, reject) => {
    const req = request(new URL(path, url), { headers, agent: false }, (res) => {
      if (res.statusCode !== 200) return reject(new Error(`a stream was answered with ${res.statusCode}`));
      res.on('data', () => {
        received += 1;
        noteReceived();
        resolve();
      });
      res.on('close', () => {
        broken += 1;
      });
    });
    req.on('error', reject);
    req.end();
  });

const openStreams = async (target: Target, count: number): Promise<void> => {
  let rest = count;
  const drive = async (): Promise<void> => {
    while (rest > 0) {
      rest -= 1;
      await openStream(target);
    }
  };
  await Promise.all(Array.from({ length: openingMax }, drive));
};

/** Writes one event to every stream; resolves to the milliseconds until all have arrived. */
const broadcast = async (): Promise<number> => {
  const goal = received + open.size;
  const began = performance.now();
  const arrived = new Promise<void>((resolve) => {
    noteReceived = () => {
      if (received >= goal) resolve();
    };
  });
  for (const res of open) res.write(event);
  await arrived;
  return performance.now() - began;
};

type Question = { target: Target; count: number } | 'broadcast';

const answer = async (question: Question): Promise<object> => {
  if (question === 'broadcast') return { ms: await broadcast(), open: open.size, broken };
  await openStreams(question.target, question.count);
  return { open: open.size, broken };
};

const say = (value: object): void => {
  process.stdout.write(`${JSON.stringify(value)}\n`);
};

say({ url: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}` });
for await (const line of createInterface({ input: process.stdin })) {
  say(await answer((JSON.parse(line) as { question: Question }).question));
}
process.exit(0);
