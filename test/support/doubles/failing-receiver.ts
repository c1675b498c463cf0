/** A webhook receiver that fails at random in all the ways that receivers have, until the test stops the failures. */
import type { ServerResponse } from 'node:http';
import type { Random } from '../random.ts';
import { startReceiver, type WebhookReceiver } from '../webhook-receiver.ts';

type Trouble = 'ok' | 'error' | 'limited' | 'reset' | 'late' | 'silent' | 'slow_body' | 'torn_body';

export type FailingReceiver = WebhookReceiver & {
  /** How often it answered in which way. */
  counts: Record<Trouble, number>;
  /** Ids of events that it took with a 2xx, and how many requests had come when it first did. */
  taken: Map<string, number>;
  /** From now on every request is answered with 204, those that were never answered too. */
  recover(): void;
};

const weights: readonly (readonly [number, Trouble])[] = [
  [84, 'ok'],
  [4, 'error'],
  [2, 'limited'],
  [4, 'reset'],
  [3, 'late'],
  [0.3, 'silent'],
  [1.5, 'slow_body'],
  [1.5, 'torn_body'],
];

type Asked = { response: ServerResponse; take(headers?: Record<string, string>): ServerResponse };

export const startFailingReceiver = async (random: Random): Promise<FailingReceiver> => {
  const counts = { ok: 0, error: 0, limited: 0, reset: 0, late: 0, silent: 0, slow_body: 0, torn_body: 0 };
  const taken = new Map<string, number>();
  const open = new Set<Asked>();
  let isWell = false;
  const receiver = await startReceiver((response, { headers }) => {
    const trouble = isWell ? 'ok' : random.pick(weights);
    counts[trouble] += 1;
    const asked: Asked = {
      response,
      take: (more = {}) => {
        const id = String(headers['webhook-id']);
        if (!taken.has(id)) taken.set(id, receiver.received.length);
        return response.writeHead(200, more);
      },
    };
    open.add(asked);
    response.once('close', () => open.delete(asked));
    answer[trouble](asked, random);
  });
  return Object.assign(receiver, {
    counts,
    taken,
    recover: () => {
      isWell = true;
      for (const { response, take } of open) response.headersSent ? response.destroy() : take().end();
    },
  });
};

const promised = { 'content-length': '1000' };

const answer: Record<Trouble, (asked: Asked, random: Random) => void> = {
  ok: ({ take }) => void take().end(),
  error: ({ response }) => void response.writeHead(500).end('no'),
  limited: ({ response }) => void response.writeHead(429, { 'retry-after': '1' }).end(),
  reset: ({ response }) => void response.socket?.resetAndDestroy(),
  late: ({ response, take }, random) => {
    const end = (): unknown => response.destroyed || response.headersSent || take().end();
    setTimeout(end, random.between(200, 3_000));
  },
  // Never answered: the sender gives up after its 15 s.
  silent: () => undefined,
  // The status says that it has the event; the rest of the answer never comes, or the connection ends first.
  slow_body: ({ take }) => void take(promised).write('a little'),
  torn_body: ({ response, take }) => void take(promised).write('a little', () => response.destroy()),
};
