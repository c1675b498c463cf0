/** Streams of security events that clients receive: their state, and the pause and end of a pause by an operator. */
import { addressOf, refreshOn } from '../live/refresh-on.ts';
import { type Answer, notFound, page, redirect } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { withQuery } from '../page/page-path.ts';
import type { Role } from '../ports/role.ts';
import type { SignalStream } from '../ports/signals.ts';
import type { Texts } from '../texts/en/en.ts';
import { badge, type Tone } from '../view/badge.ts';
import { breakable } from '../view/breakable.ts';
import { confirmPage } from '../view/confirm-page.ts';
import { fieldNote } from '../view/field.ts';
import { pager } from '../view/pager.ts';
import { table } from '../view/table.ts';
import { exactTime } from '../view/time.ts';
import { timesSwitch } from './times-switch.ts';
import { signalsTopic } from './topics.ts';

const roles: readonly Role[] = ['security', 'admin'];
const signalsPath = '/panel/security/signals';
const shownMax = 50;
const reasonLengthMax = 200;

const tones: Readonly<Record<SignalStream['status'], Tone>> = { enabled: 'good', paused: 'warn', disabled: 'bad' };

const pathOf = (stream: SignalStream, action: 'pause' | 'resume'): string =>
  `${signalsPath}/${encodeURIComponent(stream.id)}/${action}`;

const showSignals = async (view: View): Promise<Answer> => {
  const { ports, texts, query } = view;
  const t = texts.signals;
  const after = /^[\w-]{1,64}$/.exec(query.get('after') ?? '')?.[0];
  const streams = await ports.signals.list(after);
  const shown = streams.slice(0, shownMax);
  return page({
    title: t.title,
    body: html`<div class="row spread"><p>${t.intro}</p>${timesSwitch(texts)}</div>
${!ports.signals.isOn && html`<p class="message warn">${t.off}</p>`}
<div id="signals" ${refreshOn('signals', addressOf(view), signalsTopic)}>${shown.length === 0 ? html`<p>${t.none}</p>` : streamTable(texts, shown)}
${pager(view, {
  after,
  next: streams.length > shownMax ? shown.at(-1)?.id : undefined,
  pathOf: (cursor) => withQuery(signalsPath, { after: cursor }),
  labels: { first: t.first, next: t.next },
})}</div>`,
  });
};

const streamTable = (texts: Texts, streams: readonly SignalStream[]): Html => {
  const t = texts.signals;
  return table({
    caption: t.title,
    isCaptionHidden: true,
    columns: [
      t.client,
      t.receiver,
      t.status,
      { title: t.waiting, kind: 'number' },
      t.pushed,
      t.lastError,
      { title: t.actions, kind: 'action' },
    ],
    rows: streams.map((stream) => [
      html`${stream.clientName}<br><code>${stream.id}</code>`,
      stream.endpointUrl === null ? t.poll : html`<code>${breakable(stream.endpointUrl)}</code>`,
      html`${badge(tones[stream.status], t.statuses[stream.status])}${stream.reason !== null && html`<br><span class="hint">${stream.reason}</span>`}`,
      stream.waiting,
      stream.pushedAt === null ? '–' : exactTime(stream.pushedAt),
      stream.failedAt === null ? '–' : html`<code>${stream.lastError}</code><br>${exactTime(stream.failedAt)}`,
      stream.status === 'enabled'
        ? html`<a class="button" href="${pathOf(stream, 'pause')}">${t.pause}<span class="visually-hidden"> ${stream.clientName}</span></a>`
        : html`<a class="button" href="${pathOf(stream, 'resume')}">${t.resume}<span class="visually-hidden"> ${stream.clientName}</span></a>`,
    ]),
  });
};

const found = ({ params, ports }: View): Promise<SignalStream | undefined> => ports.signals.find(params.stream ?? '');

const askPause = async (view: View, problem?: string): Promise<Answer> => {
  const { texts, csrfField, form } = view;
  const t = texts.signals;
  const stream = await found(view);
  if (stream === undefined) return notFound();
  const note = fieldNote('reason', problem, t.reasonHint);
  return page({
    title: t.pauseTitle(stream.clientName),
    status: problem === undefined ? 200 : 422,
    body: html`<p>${t.pauseText}</p>
<form method="post" action="${pathOf(stream, 'pause')}" class="card narrow">${csrfField}
<label>${t.reason}<input name="reason" required maxlength="${reasonLengthMax}" autocomplete="off" value="${problem === undefined ? '' : form.get('reason')}"${note.attributes}></label>
${note.line}
<div class="row"><button class="danger">${t.pause}</button><a class="button" href="${signalsPath}">${texts.frame.cancel}</a></div></form>`,
  });
};

const pause = async (view: View): Promise<Answer> => {
  const { form, ports, actor, texts } = view;
  const stream = await found(view);
  if (stream === undefined) return notFound();
  const reason = (form.get('reason') ?? '').trim();
  if (reason === '' || reason.length > reasonLengthMax) return askPause(view, texts.signals.reasonProblem);
  await ports.signals.pause(actor, stream.id, reason);
  return redirect(signalsPath, { tone: 'good', text: texts.signals.paused(stream.clientName) });
};

const askResume = async (view: View): Promise<Answer> => {
  const { texts } = view;
  const t = texts.signals;
  const stream = await found(view);
  if (stream === undefined) return notFound();
  return confirmPage(view, {
    title: t.resumeTitle(stream.clientName),
    body: html`<p>${resumeText(view, stream)}</p>`,
    action: pathOf(stream, 'resume'),
    submit: t.resume,
    back: signalsPath,
  });
};

const resumeText = ({ ports, texts }: View, { status, delivery }: SignalStream): string => {
  const t = texts.signals;
  if (!ports.signals.isOn) return t.off;
  if (status === 'disabled') return t.resumeDisabled;
  return delivery === 'poll' ? t.resumePoll : t.resumeText;
};

const resume = async (view: View): Promise<Answer> => {
  const { ports, actor, texts } = view;
  const stream = await found(view);
  if (stream === undefined) return notFound();
  await ports.signals.resume(actor, stream.id);
  return redirect(signalsPath, { tone: 'good', text: texts.signals.resumed(stream.clientName) });
};

export const signalPages: readonly Page[] = [
  {
    method: 'GET',
    path: '/security/signals',
    roles,
    nav: (texts) => texts.signals.title,
    topics: [signalsTopic],
    handle: showSignals,
  },
  { method: 'GET', path: '/security/signals/:stream/pause', roles, handle: (view) => askPause(view) },
  { method: 'POST', path: '/security/signals/:stream/pause', roles, handle: pause },
  { method: 'GET', path: '/security/signals/:stream/resume', roles, handle: askResume },
  { method: 'POST', path: '/security/signals/:stream/resume', roles, handle: resume },
];
