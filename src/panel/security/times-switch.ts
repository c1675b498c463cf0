/** Two buttons that choose between the reader's time zone and UTC, for this browser; without script every time is in UTC. */
import { type Html, html } from '../page/html.ts';
import type { Texts } from '../texts/en/en.ts';

export const timesSwitch = ({ security: { timesIn: t } }: Texts): Html =>
  html`<div class="row times" role="group" aria-label="${t.label}" data-with-script hidden><button type="button" class="quiet" data-times="own">${t.own}</button><button type="button" class="quiet" data-times="utc">UTC</button></div>`;
