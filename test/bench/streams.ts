/**
 * How much memory does an open event stream cost? Streams through the gateway with a token each request, and through a bare
 * node:http and undici proxy: resident memory before and with all of them open, and the time until one event has reached every
 * client. A stream needs two file descriptors of the proxy: `ulimit -n 25000` for the 10,000 of the default.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { column, pinned, print, withParts } from './kit/parts.ts';

const streams = Number(process.argv[2] ?? 10_000);
const warmUpStreams = 200;
const settleMs = 3_000;

const residentKib = (pid: number | undefined): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

type Figures = { before: number; after: number; broadcastMs: number };

const measure = (name: 'gateway' | 'bare'): Promise<Figures> =>
  withParts(async (start) => {
    const load = await start('stream-load', 1, []);
    const store = name === 'gateway' ? await start('store', 1, []) : undefined;
    const contender = await start('contender', 0, [
      name,
      String(load.ready.url),
      String(store?.ready.url ?? ''),
      String(streams),
    ]);
    const target = contender.ready.others?.[`${name}-stream`];
    await load.ask({ question: { target, count: warmUpStreams } });
    await load.ask({ question: 'broadcast' });
    await sleep(settleMs);
    const before = residentKib(contender.child.pid);
    await load.ask({ question: { target, count: streams - warmUpStreams } });
    const { ms, open, broken } = await load.ask({ question: 'broadcast' });
    if (open !== streams || broken !== 0) throw new Error(`${name}: ${open} streams are open and ${broken} broke`);
    await sleep(settleMs);
    return { before, after: residentKib(contender.child.pid), broadcastMs: Number(ms) };
  });

print(`${streams} streams, ${pinned}`);
print(['', 'MiB before', 'MiB with them', 'KiB each', 'one event to all, ms'].map((text) => column(text, 22)).join(''));
for (const name of ['gateway', 'bare'] as const) {
  const { before, after, broadcastMs } = await measure(name);
  const figures = [before / 1024, after / 1024, (after - before) / (streams - warmUpStreams), broadcastMs];
  print(`${column(name, 22)}${figures.map((figure) => column(figure.toFixed(1), 22)).join('')}`);
}
