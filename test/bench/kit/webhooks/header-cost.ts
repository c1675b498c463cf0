/** What the headers of a delivery cost the main thread, with the thread that signs and without. */
import { pino } from 'pino';
import { systemClock } from '#src/platform/clock.ts';
import { signatureSchemes } from '#src/webhooks/index.ts';
import { type SignText, signText } from '#src/webhooks/signing/message-signature.ts';
import { endpointSecretLabel } from '#src/webhooks/signing/opened-secrets.ts';
import { createSignedHeaders, type SignedHeaders } from '#src/webhooks/signing/signed-headers.ts';
import { createThreadSigner } from '#src/webhooks/signing/thread-signer.ts';
import { median } from '../parts.ts';
import { eventBody, type Harness, type Signing } from '../webhook-harness.ts';

/** In microseconds of processor time for a delivery. */
type Cost = { main: number; all: number };

export type HeaderCost = { way: string; signer: string; cost: Cost };

/** Beside `v1` and the hex header. */
const ways: readonly (Required<Signing> & { way: string })[] = [
  { way: 'v1a', signature: null, v1a: true },
  ...signatureSchemes.map((signature) => ({ way: `${signature} in place of v1a`, signature, v1a: false })),
  ...signatureSchemes.map((signature) => ({ way: `${signature} beside v1a`, signature, v1a: true })),
];

const perRound = 800;
const warmUpRounds = 4;
/** As many as a worker starts in one turn of the event loop, and as it has in flight. */
const [perTurn, inFlightMax] = [8, 128];

const micros = ({ user, system }: { user: number; system: number }): number => user + system;

export const measureHeaders = async ({ db, box }: Harness, rounds: number): Promise<HeaderCost[]> => {
  const signer = createThreadSigner({ log: pino({ level: 'error' }, pino.destination(2)) });
  const headersWith = (sign: SignText): SignedHeaders =>
    createSignedHeaders({ db, box, clock: systemClock, sign, signatureHeader: 'X-Orderpass-Signature' });
  const endpoint = {
    endpointUid: 'whe_1',
    tenant: 'rst_1',
    url: 'http://127.0.0.1:3000/hook',
    secret: box.seal('whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE=', endpointSecretLabel('whe_1')),
    ...{ previousSecret: null, previousSecretExpires: null, signatureHeader: null, attemptsCount: 0 },
  };
  const body = eventBody('rst_1', 'evt_1', 'cus_1');
  const round = async (headersFor: SignedHeaders, { signature, v1a }: Required<Signing>): Promise<Cost> => {
    const [before, allBefore] = [process.threadCpuUsage(), process.cpuUsage()];
    const waiting: Promise<unknown>[] = [];
    for (let count = 0; count < perRound; count += 1) {
      const eventId = `evt_${count}`;
      const delivery = { ...endpoint, uid: `dlv_${count}`, eventId, body, signature, v1a };
      waiting.push(headersFor(delivery, 1_772_362_800));
      if (count % perTurn === perTurn - 1) await new Promise((next) => setImmediate(next));
      if (waiting.length >= inFlightMax) await Promise.all(waiting.splice(0));
    }
    await Promise.all(waiting);
    const main = micros(process.threadCpuUsage(before)) / perRound;
    return { main, all: micros(process.cpuUsage(allBefore)) / perRound };
  };
  const sides = { 'main thread': headersWith(signText), thread: headersWith(signer.sign) };
  const names = ['main thread', 'thread'] as const;
  try {
    const costs: HeaderCost[] = [];
    for (const { way, ...signing } of ways) {
      const measured: Record<keyof typeof sides, Cost[]> = { 'main thread': [], thread: [] };
      for (let number = 1 - warmUpRounds; number <= rounds * 5; number += 1)
        for (const name of names) {
          const cost = await round(sides[name], signing);
          if (number > 0) measured[name].push(cost);
        }
      for (const name of names) {
        const found = measured[name];
        const [main, all] = [median(found.map((one) => one.main)), median(found.map((one) => one.all))];
        costs.push({ way, signer: name, cost: { main, all } });
      }
    }
    return costs;
  } finally {
    await signer.close();
  }
};
