/** Deliveries that a client must accept or refuse, run through the step `verify` of its runner. */
import { expect } from 'vitest';
import { type RunnerCommand, startRunner } from './runner-process.ts';

type Delivery = { secrets: string[]; headers: Record<string, string>; body: string; now: number };

/** The test vector of section 12.3 of the interface. */
export const vector: Delivery = {
  secrets: ['whsec_b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE='],
  headers: {
    'webhook-id': 'evt_01',
    'webhook-timestamp': '1772362800',
    'webhook-signature':
      'v1,nDvDeDCy4Ic+uRqpMywAPyiMTAbzpPGZUp1VCLOkZ2E= v1a,huuvWs1mKKPA2BLdUutQOD4GTWcezhowG2H+SY1u0zLmxdXW4W62HNAlGg+hfT6+i9IR4crS3KNUe5QKqXwkBg==',
  },
  body: '{"event":"customer.changed","customer":{"uid":"cus_01"},"id":"evt_01","created":"2026-03-01T11:00:00.000Z","restuid":"rst_01","seq":42,"previous_seq":41,"change":"updated","changed_fields":["phone"]}',
  now: 1_772_362_800,
};

const signature = vector.headers['webhook-signature'] ?? '';
const otherSecret = `whsec_${Buffer.alloc(24).toString('base64')}`;
const otherSignature = `v1,${Buffer.alloc(32).toString('base64')}`;

const withHeaders = (headers: Record<string, string>): Delivery => ({
  ...vector,
  headers: { ...vector.headers, ...headers },
});

const without = (name: string): Delivery => ({
  ...vector,
  headers: Object.fromEntries(Object.entries(vector.headers).filter(([key]) => key !== name)),
});

const cases: readonly [name: string, delivery: Delivery, isValid: boolean][] = [
  ['the test vector', vector, true],
  [
    'a signature of another secret before the right one',
    withHeaders({ 'webhook-signature': `${otherSignature} ${signature}` }),
    true,
  ],
  ['the new secret beside the old one', { ...vector, secrets: [otherSecret, ...vector.secrets] }, true],
  ['299 s later', { ...vector, now: vector.now + 299 }, true],
  ['302 s later', { ...vector, now: vector.now + 302 }, false],
  ['302 s too early', { ...vector, now: vector.now - 302 }, false],
  ['another body', { ...vector, body: vector.body.replace('cus_01', 'cus_02') }, false],
  ['a byte more', { ...vector, body: `${vector.body}\n` }, false],
  ['another id', withHeaders({ 'webhook-id': 'evt_02' }), false],
  ['another time', withHeaders({ 'webhook-timestamp': '1772362801' }), false],
  ['a time that is no number', withHeaders({ 'webhook-timestamp': 'soon' }), false],
  ['a time with a sign', withHeaders({ 'webhook-timestamp': '+1772362800' }), false],
  [
    'a dot moved from the time to the id',
    withHeaders({ 'webhook-id': 'evt_01.1772362800', 'webhook-timestamp': '' }),
    false,
  ],
  ['another secret', { ...vector, secrets: [otherSecret] }, false],
  ['the secret without its prefix', { ...vector, secrets: ['b3JkZXJwYXNzLWV4YW1wbGUtc2VjcmV0LTAwMDE='] }, false],
  ['another signature', withHeaders({ 'webhook-signature': otherSignature }), false],
  ['a short signature', withHeaders({ 'webhook-signature': 'v1,nDvD' }), false],
  ['an empty signature', withHeaders({ 'webhook-signature': 'v1,' }), false],
  ['a signature that is not base64', withHeaders({ 'webhook-signature': 'v1,%%%' }), false],
  [
    'the right signature under another version',
    withHeaders({ 'webhook-signature': signature.replace('v1,', 'v2,') }),
    false,
  ],
  ['v1a under the name of v1', withHeaders({ 'webhook-signature': signature.replace(/^\S+ v1a/, 'v1') }), false],
  ['no signature', withHeaders({ 'webhook-signature': '' }), false],
  ['no header for the id', without('webhook-id'), false],
  ['no header for the time', without('webhook-timestamp'), false],
  ['no header for the signature', without('webhook-signature'), false],
];

export const checkVerification = async (command: RunnerCommand): Promise<void> => {
  const runner = startRunner(command);
  try {
    const got: [string, boolean, unknown][] = [];
    for (const [name, delivery, isValid] of cases) {
      const { error, value } = await runner.send({ do: 'verify', ...delivery });
      const kind = (error as { kind?: string } | undefined)?.kind;
      got.push([name, value !== undefined, isValid ? undefined : kind]);
    }
    expect(got).toEqual(cases.map(([name, , isValid]) => [name, isValid, isValid ? undefined : 'webhook']));
    // A mistake of the receiver is no refused delivery, and it is never an accepted one.
    for (const secrets of [[], [''], ['whsec_'], ['whsec_%%%']]) {
      const answer = await runner.send({ do: 'verify', ...vector, secrets });
      expect([secrets, (answer.error as { kind?: string } | undefined)?.kind]).toEqual([secrets, 'other']);
    }
  } finally {
    await runner.close();
  }
};
