/** The limits of one client or key: what it used of them, a chart, and the forms that change them. */
import { Fault } from '#src/contract/fault.ts';
import type { Answer } from '../page/answer.ts';
import { assertAsShown, basisField } from '../page/form-basis.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { CheckBounds, LimitedCaller, LimitName } from '../ports/limits.ts';
import { timeChart, utcValue } from './bar-chart.ts';
import { confirmChange, isConfirmed } from './confirm-page.ts';
import { fieldNote } from './field.ts';
import { message } from './layout.ts';
import { table } from './table.ts';
import { time } from './time.ts';

export const limitNames: readonly LimitName[] = ['minute', 'burst', 'day', 'month', 'concurrency'];

export type LimitProblems = Partial<Record<LimitName | 'allow_ip', string>>;

const daySeconds = 86_400;

type Shown = {
  caller: LimitedCaller;
  /** Path of the page, to which `/addresses` is added for the second form. */
  path: string;
  problems: LimitProblems;
  /** The viewer may change the limits; the addresses may be changed by everybody who sees the page. */
  mayLimit: boolean;
};

export const limitsView = (view: View, { caller, path, problems, mayLimit }: Shown): Html => {
  const t = view.texts.limits;
  const isRefused = Object.keys(problems).length > 0;
  return html`${isRefused && message({ tone: 'bad', text: t.correct })}
${usedTable(view, caller)}
${chart(view, caller)}
<h2>${t.limitsTitle}</h2>
${mayLimit ? limitsForm(view, { caller, path, problems }) : html`<p>${t.askSupport}</p>`}
<h2 id="addresses">${t.addressesTitle}</h2>
${elsewhereNote(view, caller)}
${addressForm(view, { caller, path, problems })}`;
};

/** The same without forms, for a viewer who may change nothing here. */
export const usageView = (view: View, caller: LimitedCaller): Html => {
  const t = view.texts.limits;
  return html`${usedTable(view, caller)}
${chart(view, caller)}
<h2>${t.addressesTitle}</h2>
${elsewhereNote(view, caller)}
<p>${caller.allowIp === null ? t.everywhere : caller.allowIp.join(', ')}</p>`;
};

const usedOf = ({ dayUnits, monthUnits }: LimitedCaller, name: LimitName): number | undefined =>
  name === 'day' ? dayUnits : name === 'month' ? monthUnits : undefined;

const usedTable = ({ texts, ports }: View, caller: LimitedCaller): Html => {
  const t = texts.limits;
  const { defaults } = ports.limits;
  return table({
    caption: t.usedCaption,
    columns: [t.limit, { title: t.used, kind: 'number' }, { title: t.allowed, kind: 'number' }],
    rows: limitNames.map((name) => {
      const used = usedOf(caller, name);
      const own = caller.limits[name];
      const standard = name === 'minute' || name === 'burst' ? defaults[name] : undefined;
      return [
        t.names[name],
        used === undefined ? '–' : t.number(used),
        own !== undefined ? t.number(own) : standard === undefined ? t.none : t.standard(t.number(standard)),
      ];
    }),
  });
};

/** A quota far above all days would press the bars flat, so then only the sentence names it. */
const markedTimesMax = 4;

const chart = ({ texts }: View, { days, limits }: LimitedCaller): Html => {
  const t = texts.limits;
  const quota = limits.day;
  const units = days.map((day) => day.units);
  const [first] = days;
  const total = units.reduce((sum, one) => sum + one, 0);
  const most = Math.max(0, ...units);
  const mark = quota !== undefined && quota <= most * markedTimesMax ? quota : undefined;
  return html`<div class="card"><h2>${t.chartTitle} <span class="figure">${t.number(total)}</span></h2>
${first && timeChart(units, { label: t.chartLabel(t.number(total), t.number(most)), tone: 'used', from: first.day, seconds: daySeconds, textOfValue: utcValue, timeStyle: 'date', mark })}
${quota !== undefined && html`<p class="hint">${t.quotaOfDay(t.number(quota), Math.round((most / quota) * 100), mark !== undefined)}</p>`}
<details><summary>${t.asTable}</summary>${table({
    isStacked: false,
    columns: [t.day, ...[t.requests, t.units, t.limited].map((title) => ({ title, kind: 'number' as const }))],
    rows: [...days].reverse().map((day) => [time(day.day, 'date'), day.requests, day.units, day.limited]),
  })}</details></div>`;
};

const limitsOf = ({ limits }: Pick<LimitedCaller, 'limits'>): readonly unknown[] =>
  limitNames.map((name) => [name, limits[name]]);

/** Throws OutdatedForm; for the change of the limits, which calls it under the lock of the credential. */
export const checkLimits =
  (view: View, path: string): CheckBounds =>
  (stored) =>
    assertAsShown(view, 'limits', limitsOf(stored), path);

/** The same for the networks. */
export const checkAddresses =
  (view: View, path: string): CheckBounds =>
  ({ allowIp }) =>
    assertAsShown(view, 'addresses', allowIp ?? [], path);

type Forms = Pick<Shown, 'caller' | 'path' | 'problems'>;

const limitsForm = (view: View, { caller, path, problems }: Forms): Html => {
  const t = view.texts.limits;
  const { defaults } = view.ports.limits;
  return html`<form method="post" action="${path}" class="card" autocomplete="off">${view.csrfField}${basisField(view, 'limits', limitsOf(caller))}
<p>${t.limitsText}</p>
${limitNames.map((name) => {
  const hint = name === 'minute' || name === 'burst' ? t.emptyIsDefault(t.number(defaults[name])) : t.emptyIsNone;
  const note = fieldNote(name, problems[name], hint);
  const value = view.form.get(name) ?? String(caller.limits[name] ?? '');
  return html`<label>${t.names[name]}<input name="${name}" inputmode="numeric" maxlength="13" autocomplete="off" value="${value}"${note.attributes}></label>${note.line}`;
})}
<button class="primary">${t.save}</button></form>`;
};

/** Says when calls from other addresses were refused, since the credential may be in other hands. */
export const elsewhereNote = ({ texts }: View, { elsewhere }: LimitedCaller): Html | false => {
  const t = texts.limits;
  return (
    elsewhere !== null &&
    html`<p class="message warn">${t.elsewhere(elsewhere.calls, elsewhere.address)} ${time(elsewhere.last)}. ${t.elsewhereAdvice}</p>`
  );
};

const addressForm = (view: View, { caller, path, problems }: Forms): Html => {
  const t = view.texts.limits;
  const note = fieldNote('allow_ip', problems.allow_ip, t.addressesHint(view.address));
  const value = view.form.get('allow_ip') ?? (caller.allowIp ?? []).join('\n');
  return html`<form method="post" action="${path}/addresses" class="card" autocomplete="off">${view.csrfField}${basisField(view, 'addresses', caller.allowIp ?? [])}
<p>${t.addressesText}</p>
<label>${t.addresses}<textarea name="allow_ip" rows="4" spellcheck="false" autocomplete="off"${note.attributes}>${value}</textarea></label>${note.line}
<button class="primary">${t.saveAddresses}</button></form>`;
};

/** An empty field removes the limit. Text that is no number becomes NaN, which the port refuses. */
export const readLimitsForm = (form: URLSearchParams): Record<LimitName, number | null> => {
  const read = (name: LimitName): number | null => {
    const text = (form.get(name) ?? '').trim();
    if (text === '') return null;
    return /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  return {
    minute: read('minute'),
    burst: read('burst'),
    day: read('day'),
    month: read('month'),
    concurrency: read('concurrency'),
  };
};

type Asked = Pick<Shown, 'caller' | 'path'>;

/**
 * The page that asks before a quota is saved of which more is used already. Undefined: the change is made. Throws OutdatedForm.
 */
export const askAboutLimits = (view: View, { caller, path }: Asked): Answer | undefined => {
  checkLimits(view, path)(caller);
  const given = readLimitsForm(view.form);
  const t = view.texts.limits;
  const spent = (['day', 'month'] as const).flatMap((name) => {
    const [limit, used] = [given[name], usedOf(caller, name) ?? 0];
    return limit !== null && limit >= 1 && limit <= used && limit !== caller.limits[name]
      ? [{ name, limit, used }]
      : [];
  });
  if (spent.length === 0 || isConfirmed(view)) return undefined;
  return confirmChange(view, {
    title: t.ask.limits(caller.name),
    body: html`<p>${t.ask.limitsText(caller.name)}</p><ul>${spent.map(
      ({ name, limit, used }) => html`<li>${t.ask.spent(t.names[name], t.number(limit), t.number(used))}</li>`,
    )}</ul>`,
    action: path,
    submit: t.save,
    back: path,
  });
};

/**
 * The same for networks: the page asks before calls from others are refused, and not when the form refuses no more than now.
 * Throws OutdatedForm, and a Fault for a list that is not valid.
 */
export const askAboutAddresses = (view: View, { caller, path }: Asked): Answer | undefined => {
  checkAddresses(view, path)(caller);
  const given = readAddressForm(view.form);
  if (given === null) return undefined;
  const networks = view.ports.limits.readAllowIp(given);
  const before = caller.allowIp;
  const ends = before?.filter((network) => !networks.includes(network));
  if (isConfirmed(view, ends)) return undefined;
  const t = view.texts.limits;
  return confirmChange(view, {
    title: t.ask.addresses(caller.name),
    ...(ends && { ends }),
    body: html`<p>${t.ask.addressesText(caller.name)}</p><ul>${networks.map((network) => html`<li><code>${network}</code></li>`)}</ul>
<p>${t.ask.before} ${before === null ? t.everywhere : before.join(', ')}</p>`,
    action: `${path}/addresses`,
    submit: t.saveAddresses,
    back: path,
  });
};

/** One entry per line; blanks and commas separate too. Null: every address. */
export const readAddressForm = (form: URLSearchParams): readonly string[] | null => {
  const found = (form.get('allow_ip') ?? '').split(/[\s,]+/).filter((text) => text !== '');
  return found.length === 0 ? null : found;
};

/** The problems of the fields; undefined when the refusal is not about fields. */
export const limitProblemsOf = ({ texts }: View, error: unknown): LimitProblems | undefined => {
  if (!(error instanceof Fault) || error.errors === undefined) return undefined;
  const t = texts.limits;
  const problems: LimitProblems = {};
  for (const { pointer, message: english } of error.errors) {
    // The message begins with the wrong entry, which may have colons of its own.
    if (pointer === 'allow_ip') problems.allow_ip ??= t.addressProblem(english.slice(0, english.indexOf(': ')));
    const name = limitNames.find((one) => one === pointer);
    if (name !== undefined) problems[name] = t.limitProblem;
  }
  return Object.keys(problems).length === 0 ? undefined : problems;
};
