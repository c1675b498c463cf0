/** The section of the client page that quarantines or disables the client. */
import { basisField } from '../page/form-basis.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { ShownClient } from '../ports/support.ts';
import { fieldNote } from '../view/field.ts';
import { clientPath } from './client-table.ts';

export const reasonLengthMax = 200;

export const stateOf = ({ state, reason, changed }: ShownClient): readonly unknown[] => [state, reason, changed];

export const stopSection = (
  view: View,
  client: ShownClient,
  problems: { quarantine?: string; reactivate?: string },
): Html => {
  const { texts, csrfField, form } = view;
  const t = texts.support.client;
  const path = clientPath(client.clientId);
  const isQuarantined = client.state === 'quarantined';
  const problem = isQuarantined ? problems.reactivate : problems.quarantine;
  const note = fieldNote('reason', problem, isQuarantined ? undefined : t.quarantineText);
  const action = isQuarantined ? 'reactivate' : 'quarantine';
  return html`<h2 id="stop">${t.danger}</h2>
<form method="post" action="${path}/${action}" class="card" autocomplete="off">${csrfField}${isQuarantined && basisField(view, 'state', stateOf(client))}
<h3>${isQuarantined ? t.reactivateTitle(client.name) : t.quarantineTitle(client.name)}</h3>
<label>${isQuarantined ? t.reactivateReason : t.quarantineReason}<input name="reason" required maxlength="${reasonLengthMax}" autocomplete="off" value="${problem === undefined ? '' : form.get('reason')}"${note.attributes}></label>
${note.line}
<button>${isQuarantined ? t.reactivate : t.quarantine}</button></form>
<div class="card"><p>${t.disableText}</p><a class="button" href="${path}/disable">${t.disable}</a></div>`;
};
