/** The sentences in which the timeline tells events. */
import { expect, test } from 'vitest';
import { auditActions } from '#src/gateway/index.ts';
import type { AuditEntry } from '#src/panel/index.ts';
import { sentenceOf } from '#src/panel/security/event-words.ts';
import { languages, textsOf } from '#src/panel/texts/texts.ts';

const entryOf = (action: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ id: '0-1', at: new Date(0), action, outcome: 'success', reason: null, count: 1, requestIds: [] },
  ...{ fingerprint: null, kind: null, credentialId: 'ops_1', tokenId: null, clientId: 'opc_1', tenants: ['rst_1'] },
  ...{ routeId: 'orders.list', scopes: [], address: null, actor: 'panel:u1', details: {}, hash: '', signed: true },
  ...more,
});

const names = new Map([
  ['panel:u1', 'anna@example.com'],
  ['panel:u2', 'ben@example.com'],
  ['opc_1', 'Till 3'],
  ['rst_1', 'Osteria Uno'],
]);

test('every kind of event has a sentence in each language, with names in place of ids', () => {
  for (const language of languages) {
    const texts = textsOf[language];
    expect(Object.keys(texts.auditEvents.sentences).toSorted(), language).toEqual(Object.keys(auditActions).toSorted());
    const sentences = Object.keys(auditActions).flatMap((action) =>
      (['success', 'failure'] as const).map((outcome) => {
        const details = { user_id: 'u2', name: 'Night', state: 'quarantined', api_enabled: false };
        return sentenceOf(texts, entryOf(action, { outcome, count: 3, reason: 'too_many', details }), names);
      }),
    );
    for (const sentence of sentences) {
      expect(sentence, language).toMatch(/^[\p{Lu}\d]|^anna@/u);
      expect(sentence, language).toMatch(/\.$/);
      expect(sentence, language).not.toMatch(/undefined|null|opc_|rst_|ops_|panel:|\w+\.\w+_\w+/);
    }
  }
});

test('the sentence of a rotation has the person and the client, and an event without names has its ids', () => {
  const rotated = entryOf('secret.created', { details: { rotated: true } });
  expect(sentenceOf(textsOf.en, rotated, names)).toBe('anna@example.com rotated the secret of Till 3.');
  expect(sentenceOf(textsOf.it, rotated, names)).toBe('anna@example.com ha sostituito il segreto di Till 3.');
  const byShell = entryOf('client.created', { actor: 'cli:root', clientId: 'opc_gone' });
  expect(sentenceOf(textsOf.en, byShell, names)).toBe('root at the command line created the client opc_gone.');
  expect(sentenceOf(textsOf.en, entryOf('of.tomorrow'), names)).toBe('of.tomorrow');
});

test('the sentence of a rotated key says whether the old value ended at once, and that of a passkey whose it was', () => {
  const rotated = (reason: string) => entryOf('key.rotated', { at: new Date('2026-03-01T10:00:00.005Z'), reason });
  const [atOnce, later] = ['rotated; ends 2026-03-01T10:00:00.001Z', 'rotated; ends 2026-03-02T10:00:00.001Z'];
  expect(sentenceOf(textsOf.en, rotated(atOnce), names)).toMatch(/the old value ended at once\.$/);
  expect(sentenceOf(textsOf.it, rotated(atOnce), names)).toMatch(/ha smesso subito di funzionare\.$/);
  expect(sentenceOf(textsOf.en, rotated(later), names)).toMatch(/the old value still worked for a while\.$/);
  const own = entryOf('user.passkey_removed', { details: { passkey_id: 'psk_1', name: 'Phone' } });
  expect(sentenceOf(textsOf.en, own, names)).toBe('anna@example.com removed a passkey.');
  expect(sentenceOf(textsOf.it, own, names)).toBe('anna@example.com ha rimosso una passkey.');
  const byAdmin = entryOf('user.passkey_removed', { details: { user_id: 'u2', removed: 2 } });
  expect(sentenceOf(textsOf.en, byAdmin, names)).toBe('anna@example.com removed the passkeys of ben@example.com.');
});
