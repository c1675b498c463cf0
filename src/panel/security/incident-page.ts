/**
 * The incident page, for a key, secret or token that was found in the wrong place. The browser hashes the value
 * (assets/security.js) and sends only its SHA-256 and its public id. The result is the response to a POST, so it has no
 * address that could be bookmarked.
 */
import { Fault } from '#src/contract/fault.ts';
import { type Answer, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { AuditNames, CredentialTrace, HashedCredential } from '../ports/security.ts';
import { message } from '../view/layout.ts';
import { exactTime } from '../view/time.ts';
import { searchHref } from './audit-filter.ts';
import { eventHref } from './audit-table.ts';
import { timesSwitch } from './times-switch.ts';
import { ownFilter, showTrace } from './trace-view.ts';

const incidentPath = '/panel/security/incident';
const proofPath = `${incidentPath}/proof`;

export const showIncidentForm = (view: View): Answer => incidentPage(view);

const incidentPage = (view: View, more: { problem?: string; found?: Html } = {}): Answer => {
  const t = view.texts.security.incident;
  return page({
    title: t.title,
    status: more.problem === undefined ? 200 : 422,
    scripts: ['security.js'],
    body: html`<div class="row spread"><p>${t.intro}</p>${more.found !== undefined && timesSwitch(view.texts)}</div>
${more.problem !== undefined && message({ tone: 'bad', text: more.problem })}
<form method="post" action="${incidentPath}" class="card" data-incident data-unknown="${t.unknownValue}" data-insecure="${t.insecure}">
${view.csrfField}<input type="hidden" name="kind"><input type="hidden" name="id"><input type="hidden" name="sha256">
<label>${t.value}<textarea data-secret rows="2" autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby="stays"></textarea></label>
<p id="stays" class="hint">${t.stays}</p>
<p class="field-error" role="alert" hidden></p>
<button class="primary">${t.trace}</button>
<noscript><p class="message warn">${t.needsScript}</p></noscript>
</form>
${more.found}`,
  });
};

export const traceValue = async (view: View): Promise<Answer> => {
  const t = view.texts.security.incident;
  const hashed = readHashed(view.form);
  if (hashed === undefined) return incidentPage(view, { problem: t.unknownValue });
  try {
    const { actor, address } = view;
    const traced = await view.ports.security.trace({ actor, address }, hashed);
    const events = [...traced.refusals, ...(traced.issued === null ? [] : [traced.issued])];
    const names = new Map([
      ...(await view.ports.security.namesIn(events)),
      ...(await view.ports.security.namesOf(traced.clientId === null ? [] : [traced.clientId])),
    ]);
    return incidentPage(view, { found: resultOf(view, { traced, names }, hashed) });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'VALIDATION_ERROR') throw error;
    return incidentPage(view, { problem: t.unknownValue });
  }
};

const kinds = ['api_key', 'client_secret', 'client_certificate', 'token'] as const;

const readHashed = (form: URLSearchParams): HashedCredential | undefined => {
  const kind = kinds.find((name) => name === form.get('kind'));
  return kind && { kind, id: form.get('id') ?? '', sha256: form.get('sha256') ?? '' };
};

const resultOf = (
  view: View,
  { traced, names }: { traced: CredentialTrace; names: AuditNames },
  hashed: HashedCredential,
): Html => {
  const t = view.texts.security.incident;
  return html`<section aria-labelledby="found">
<h2 id="found" tabindex="-1" data-found>${t.kinds[traced.kind]} <code>${traced.id}</code></h2>
${verdictOf(view, traced)}
${traced.genuine && revokeForm(view, traced, hashed)}
${showTrace(view.texts, traced, names)}
<p class="hint">${t.sent} <code>${hashed.sha256}</code></p>
</section>`;
};

const verdictOf = ({ texts }: View, { genuine, exists, kind }: CredentialTrace): Html => {
  const t = texts.security.incident;
  if (genuine) return message({ tone: 'good', text: kind === 'client_certificate' ? t.registered : t.genuine });
  return html`<p class="message warn" role="status">${exists ? t.unproven(kind) : t.notOurs}</p>`;
};

/** Revoking takes two steps without script: the second button is hidden in a details element. */
const revokeForm = (view: View, traced: CredentialTrace, { kind, id, sha256 }: HashedCredential): Html => {
  const t = view.texts.security.incident;
  // Tokens of a secret or certificate may be valid although it has ended itself.
  if (traced.issuedUse === null && (traced.state === 'expired' || traced.state === 'revoked'))
    return html`<p>${t.endedAlready}</p>`;
  return html`<details class="confirm"><summary class="button">${t.revoke}</summary>
<form method="post" action="${incidentPath}/revoke" class="card">${view.csrfField}
<input type="hidden" name="kind" value="${kind}"><input type="hidden" name="id" value="${id}"><input type="hidden" name="sha256" value="${sha256}">
<p>${t.whatEnds(kind, traced.clientId ?? '')} ${t.cannotUndo}</p>
<button class="danger">${t.revokeNow}</button>
</form></details>`;
};

export const revokeValue = async (view: View): Promise<Answer> => {
  const t = view.texts.security.incident;
  const hashed = readHashed(view.form);
  if (hashed === undefined) return incidentPage(view, { problem: t.unknownValue });
  const { actor, address } = view;
  const events = await view.ports.security.revoke({ actor, address }, hashed);
  const query = new URLSearchParams({ kind: hashed.kind, id: hashed.id });
  for (const { id } of events) query.append('event', id);
  return redirect(`${proofPath}?${query}`);
};

/** This page may be bookmarked: its address names events, which are read from the audit again. */
export const showProof = async ({ ports, actor, address, query, texts }: View): Promise<Answer> => {
  const t = texts.security.incident;
  const kind = kinds.find((name) => name === query.get('kind'));
  const found = [];
  for (const id of query.getAll('event').slice(0, proofEventsMax))
    found.push(await ports.security.findEvent({ actor, address }, id));
  // The address may be forged, so only events that revoke something count as proof.
  const events = found
    .filter((event) => event !== undefined)
    .filter(({ action, signed }) => ends.has(action) && signed !== false);
  // A revocation that changed nothing leads here without an event.
  const isUnchanged = !query.has('event');
  return page({
    title: events.length > 0 ? t.proofTitle : isUnchanged ? t.unchangedTitle : t.goneTitle,
    body: html`${
      events.length === 0
        ? html`<p>${isUnchanged ? t.noProof : t.proofGone}</p>`
        : html`${message({ tone: 'good', text: t.proofText })}${timesSwitch(texts)}
<ul class="cards proof">${events.map(
            (event) => html`<li><div class="card"><h2><code>${event.action}</code></h2>
<dl class="facts"><dt>${t.about}</dt><dd><code>${event.tokenId ?? event.credentialId ?? event.clientId}</code></dd>
<dt>${texts.security.columns.time}</dt><dd>${exactTime(event.at)}</dd>
<dt>${texts.security.facts.actor}</dt><dd>${event.actor}</dd>
<dt>${texts.security.facts.place}</dt><dd><a href="${eventHref(event.id)}">${event.id}</a></dd>
<dt>${texts.security.facts.hash}</dt><dd><code>${event.hash}</code></dd></dl></div></li>`,
          )}</ul>`
    }
<p class="row">${kind !== undefined && html`<a class="button" href="${searchHref(kind === 'client_certificate' ? { action: 'client_certificate.removed' } : ownFilter({ kind, id: query.get('id') ?? '' }))}">${t.allEvents}</a>`}<a class="button" href="${incidentPath}">${t.another}</a></p>`,
  });
};

const proofEventsMax = 10;
const ends: ReadonlySet<string> = new Set([
  'token.revoked',
  'key.revoked',
  'secret.retired',
  'client_certificate.removed',
  'client.tokens_revoked',
]);
