/** An event of the audit for people: names before ids, and a sentence for each kind of event. */
import { type Html, html } from '../page/html.ts';
import type { AuditEntry, AuditNames } from '../ports/security.ts';
import type { EventWords } from '../texts/en/audit-events.ts';
import type { Texts } from '../texts/en/en.ts';
import { breakable } from '../view/breakable.ts';

/** A name with its id small beside it; the id alone where it has no name. */
export const named = (names: AuditNames, id: string): Html => {
  const name = names.get(id);
  return name === undefined
    ? html`<code>${id}</code>`
    : html`${breakable(name)} <span class="id"><code>${id.replace(/^panel:/, '')}</code></span>`;
};

const whoOf = ({ auditEvents: t }: Texts, { actor }: AuditEntry, names: AuditNames): string => {
  if (actor === null) return t.unknownWho;
  if (actor === 'system') return t.system;
  return names.get(actor) ?? (actor.startsWith('cli:') ? t.atCommandLine(actor.slice('cli:'.length)) : actor);
};

const callerOf = ({ auditEvents: t }: Texts, { clientId, credentialId }: AuditEntry, names: AuditNames): string => {
  const id = clientId ?? credentialId;
  if (id === null) return t.unknownCaller;
  return names.get(id) ?? id;
};

const userOf = (details: Readonly<Record<string, unknown>>, names: AuditNames): string => {
  const { user_id: id, email } = details;
  const known = typeof id === 'string' ? names.get(`panel:${id}`) : undefined;
  return known ?? (typeof email === 'string' ? email : typeof id === 'string' ? id : '');
};

const wordsOf = (texts: Texts, entry: AuditEntry, names: AuditNames): EventWords => {
  const details = (entry.details ?? {}) as Readonly<Record<string, unknown>>;
  return {
    who: whoOf(texts, entry, names),
    caller: callerOf(texts, entry, names),
    restaurants: entry.tenants.map((id) => names.get(id) ?? id).join(', ') || texts.auditEvents.someRestaurant,
    user: userOf(details, names),
    count: entry.count,
    reason: entry.reason,
    endsAtOnce: Date.parse(/ ends (\S+)$/.exec(entry.reason ?? '')?.[1] ?? '') <= entry.at.getTime(),
    failed: entry.outcome === 'failure',
    route: entry.routeId,
    detail: (name) => {
      const value = details[name];
      return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
    },
  };
};

/** The name of the event for a kind that the texts do not know, which only a later version can have written. */
export const sentenceOf = (texts: Texts, entry: AuditEntry, names: AuditNames): string => {
  const sentences: Readonly<Record<string, (words: EventWords) => string>> = texts.auditEvents.sentences;
  return sentences[entry.action]?.(wordsOf(texts, entry, names)) ?? entry.action;
};
