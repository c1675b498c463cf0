/** API keys of a restaurant: list, create and rotate (shown once), revoke; support lifts a quarantine. */
import { Fault } from '#src/contract/fault.ts';
import { hourMs } from '#src/platform/clock.ts';
import { fragment, notFound, page, redirect } from '../page/answer.ts';
import { assertAsShown, basisField } from '../page/form-basis.ts';
import { html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readChoice, readCursor } from '../page/read-query.ts';
import { Refusal } from '../page/refusal.ts';
import type { ApiKey, NewKey, PanelRestaurant } from '../ports/restaurant.ts';
import { copyButton } from '../view/copy-button.ts';
import { fieldNote } from '../view/field.ts';
import { secretOnce } from '../view/secret-once.ts';
import { isLive, keyTable, mayRotate, useOf } from './key-table.ts';
import { liftRoles, pathOfRestaurant, requestedRestaurant, restaurantPath, restaurantRoles } from './paths.ts';
import { keysShown, keysTopic } from './topics.ts';

const keysPath = `${restaurantPath}/keys`;
const nameMax = 100;

type Problems = { name?: string; expires?: string };

const showKeys = async (view: View) => {
  const found = await requestedRestaurant(view);
  return found === undefined ? notFound() : keysPage(view, found);
};

const keysPage = async (view: View, found: PanelRestaurant, problems: Problems = {}) => {
  const { ports, texts } = view;
  const ended = readChoice(view, 'ended', ['1']) === '1';
  const after = readCursor(view);
  const keys = await ports.restaurant.keys.list(found.restuid, { ended, after, limit: keysShown });
  const table = keyTable(view, { restuid: found.restuid, ended, after, keys });
  if (view.wantsFragment) return fragment(table);
  return page({
    title: texts.restaurant.keys.title(found.name),
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`<p>${texts.restaurant.keys.intro}</p>
${table}${!ended && createForm(view, found, problems)}`,
  });
};

const createForm = (view: View, { restuid, timeZone }: PanelRestaurant, problems: Problems) => {
  const { form, csrfField } = view;
  const { keys: t, optional } = view.texts.restaurant;
  const name = fieldNote('name', problems.name);
  const expires = fieldNote('expires', problems.expires);
  return html`<section aria-labelledby="create-title" class="card form"><h2 id="create-title" class="flat">${t.create}</h2>
<form method="post" action="${pathOfRestaurant(restuid, '/keys')}">${csrfField}
<label>${t.name} <span class="hint">${t.nameHint}</span>
<input name="name" required maxlength="${nameMax}" autocomplete="off" value="${form.get('name') ?? ''}"${name.attributes}></label>${name.line}
<label>${t.expires} <span class="hint">(${optional}) ${t.expiresHint(timeZone)}</span>
<input type="date" name="expires" value="${form.get('expires') ?? ''}"${expires.attributes}></label>${expires.line}
<button class="primary">${t.submit}</button></form></section>`;
};

const createKey = async (view: View) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { form, ports, actor, texts } = view;
  const t = texts.restaurant.keys;
  const name = (form.get('name') ?? '').trim();
  if (name === '' || [...name].length > nameMax || !name.isWellFormed())
    return keysPage(view, found, { name: t.problems.name });
  try {
    const key = { name, lastDay: lastDayIn(form) };
    return shownKey(view, found.restuid, name, await ports.restaurant.keys.create(actor, found.restuid, key));
  } catch (error) {
    if (!isAbout(error, 'expires')) throw error;
    return keysPage(view, found, { expires: t.problems.expires });
  }
};

/** The day in the form; undefined when it is empty. */
const lastDayIn = (form: View['form']): string | undefined => (form.get('expires') ?? '').trim() || undefined;

const isAbout = (error: unknown, field: string): boolean =>
  error instanceof Fault && error.errors?.some(({ pointer }) => pointer === field) === true;

/** `notes`: below the value. */
const shownKey = (view: View, restuid: string, name: string, { value }: NewKey, notes: readonly string[] = []) => {
  const t = view.texts.restaurant.keys;
  const sample = `curl -H 'X-Api-Key: ${value}' ${view.ports.restaurant.origin}/api/whoami`;
  return page({
    title: t.shownTitle,
    body: html`${secretOnce(view, {
      values: [{ id: 'secret-value', label: t.shownFor(name), value }],
      text: t.shownText,
      done: { path: pathOfRestaurant(restuid, '/keys'), label: t.saved },
    })}
${notes.map((note) => html`<p>${note}</p>`)}
<h2>${t.tryIt}</h2><pre id="sample">${sample}</pre>${copyButton(view, 'sample')}`,
  });
};

/** Runs `use` with the key of the path. A key that has ended redirects to the list. */
const withLiveKey =
  (use: (view: View, restuid: string, key: ApiKey) => ReturnType<Page['handle']>) => async (view: View) => {
    const { restaurant = '', key: keyId = '' } = view.params;
    const key = await view.ports.restaurant.keys.find(restaurant, keyId);
    if (key === undefined) return notFound();
    if (isLive(key)) return use(view, restaurant, key);
    const text = view.texts.restaurant.keys.notLive(key.name);
    return redirect(pathOfRestaurant(restaurant, '/keys'), { tone: 'bad', text });
  };

const overlaps = [0, 1, 24, 72, 168, 720] as const;

/** Runs `use` unless the rotation would end a quarantine that the user may not lift. */
const withRotatableKey = (use: Parameters<typeof withLiveKey>[0]) =>
  withLiveKey((view, restuid, key) => {
    if (!mayRotate(view, key)) throw new Refusal('CONFLICT', view.texts.restaurant.keys.liftFirst);
    return use(view, restuid, key);
  });

const overlapDefault = 24;

const stateOf = ({ state, reason, changed }: ApiKey): readonly unknown[] => [state, reason, changed];

/** The last day of the old key for the new one, unless the old one ends within the overlap: its end says nothing about the new one. */
const offeredDay = (view: View, { expires }: ApiKey, timeZone: string): string => {
  if (expires === null || expires.getTime() <= view.now.getTime() + overlapDefault * hourMs) return '';
  // The end is the first moment after the day. Swedish dates have the form of the field.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(expires.getTime() - 1);
};

const askToRotate = withRotatableKey((view, _restuid, key) => formToRotate(view, key));

const formToRotate = async (view: View, key: ApiKey, problem?: string) => {
  const found = await requestedRestaurant(view);
  if (found === undefined) return notFound();
  const { restuid, timeZone } = found;
  const { keys: t, cancel, optional } = view.texts.restaurant;
  const chosen = Number(view.form.get('overlap') ?? overlapDefault);
  const expires = fieldNote('expires', problem);
  return page({
    title: t.rotateTitle(key.name),
    status: problem === undefined ? 200 : 422,
    body: html`<p>${key.state === 'quarantined' ? t.rotateQuarantined : t.rotateText}</p><form method="post" action="${pathOfRestaurant(restuid, `/keys/${key.id}/rotate`)}" class="narrow" autocomplete="off">${view.csrfField}${basisField(view, 'state', stateOf(key))}
<label>${t.overlap}<select name="overlap">${overlaps.map(
      (hours) => html`<option value="${hours}"${hours === chosen && html` selected`}>${t.overlaps[hours]}</option>`,
    )}</select></label>
<label>${t.rotatedExpires} <span class="hint">(${optional}) ${t.expiresHint(timeZone)}</span>
<input type="date" name="expires" value="${view.form.get('expires') ?? offeredDay(view, key, timeZone)}"${expires.attributes}></label>${expires.line}
<div class="row"><button class="primary">${t.rotateNow}</button><a class="button" href="${pathOfRestaurant(restuid, '/keys')}">${cancel}</a></div></form>`,
  });
};

const rotateKey = withRotatableKey(async (view, restuid, key) => {
  const t = view.texts.restaurant.keys;
  const hours = overlaps.find((one) => String(one) === view.form.get('overlap'));
  if (hours === undefined) throw new Refusal('VALIDATION_ERROR', t.problems.overlap);
  assertAsShown(view, 'state', stateOf(key), pathOfRestaurant(restuid, `/keys/${encodeURIComponent(key.id)}/rotate`));
  const lastDay = lastDayIn(view.form);
  try {
    const made = await view.ports.restaurant.keys.rotate(view.actor, restuid, key.id, {
      ...{ overlapHours: hours, lastDay },
      // Also a quarantine that began at this moment, which the form does not name.
      refuseQuarantined: key.state !== 'quarantined' || !liftRoles.includes(view.user.role),
    });
    const end = lastDay === undefined ? t.rotatedNoEnd : t.rotatedEnd(lastDay);
    return shownKey(view, restuid, key.name, made, hours > 0 ? [t.rotatedText, end] : [end]);
  } catch (error) {
    if (!isAbout(error, 'expires')) throw error;
    return formToRotate(view, key, t.problems.expires);
  }
});

const askToRevoke = withLiveKey((view, restuid, key) => {
  const { keys: t, cancel } = view.texts.restaurant;
  return page({
    title: t.revokeTitle(key.name),
    body: html`<p>${t.revokeText}</p>
${!key.isQuiet && html`<p class="message warn">${t.revokeUsed}</p>`}<p>${useOf(view, key)}</p>
<form method="post" action="${pathOfRestaurant(restuid, `/keys/${key.id}/revoke`)}" class="row">${view.csrfField}
<button class="danger">${t.revokeNow}</button><a class="button" href="${pathOfRestaurant(restuid, '/keys')}">${cancel}</a></form>`,
  });
});

const revokeKey = withLiveKey(async (view, restuid, key) => {
  await view.ports.restaurant.keys.revoke(view.actor, restuid, key.id);
  const text = view.texts.restaurant.keys.revoked(key.name);
  return redirect(pathOfRestaurant(restuid, '/keys'), { tone: 'good', text });
});

/** The refused caller read the reason of the quarantine; this one goes into the audit. */
const reasonMax = 200;

const askToLift = withLiveKey((view, restuid, key) => formToLift(view, restuid, key));

const formToLift = (view: View, restuid: string, key: ApiKey, problem?: string) => {
  const { keys: t, cancel } = view.texts.restaurant;
  const back = pathOfRestaurant(restuid, '/keys');
  if (key.state !== 'quarantined') return redirect(back);
  const note = fieldNote('reason', problem);
  return page({
    title: t.liftTitle(key.name),
    status: problem === undefined ? 200 : 422,
    body: html`<p>${t.liftText(key.reason ?? '')}</p>
<form method="post" action="${back}/${encodeURIComponent(key.id)}/reactivate" class="card narrow" autocomplete="off">${view.csrfField}${basisField(view, 'state', stateOf(key))}
<label>${t.liftReason}<input name="reason" required maxlength="${reasonMax}" autocomplete="off" value="${view.form.get('reason')}"${note.attributes}></label>
${note.line}
<div class="row"><button class="primary">${t.lift}</button><a class="button" href="${back}">${cancel}</a></div></form>`,
  });
};

const liftQuarantine = withLiveKey(async (view, restuid, key) => {
  const t = view.texts.restaurant.keys;
  const reason = (view.form.get('reason') ?? '').trim();
  if (reason === '' || reason.length > reasonMax) return formToLift(view, restuid, key, t.problems.reason);
  const path = pathOfRestaurant(restuid, `/keys/${encodeURIComponent(key.id)}/reactivate`);
  const check = (stored: ApiKey) => assertAsShown(view, 'state', stateOf(stored), path);
  check(key);
  await view.ports.restaurant.keys.reactivate(view.actor, restuid, key.id, reason, check);
  return redirect(pathOfRestaurant(restuid, '/keys'), { tone: 'good', text: t.lifted(key.name) });
});

export const keyPages: readonly Page[] = [
  {
    method: 'GET',
    path: keysPath,
    roles: restaurantRoles,
    nav: (texts) => texts.restaurant.keys.nav,
    topics: [keysTopic],
    handle: showKeys,
  },
  { method: 'POST', path: keysPath, roles: restaurantRoles, handle: createKey },
  { method: 'GET', path: `${keysPath}/:key/rotate`, roles: restaurantRoles, handle: askToRotate },
  { method: 'POST', path: `${keysPath}/:key/rotate`, roles: restaurantRoles, handle: rotateKey },
  { method: 'GET', path: `${keysPath}/:key/revoke`, roles: restaurantRoles, handle: askToRevoke },
  { method: 'POST', path: `${keysPath}/:key/revoke`, roles: restaurantRoles, handle: revokeKey },
  { method: 'GET', path: `${keysPath}/:key/reactivate`, roles: liftRoles, handle: askToLift },
  { method: 'POST', path: `${keysPath}/:key/reactivate`, roles: liftRoles, handle: liftQuarantine },
];
