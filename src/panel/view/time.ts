/** A moment as the viewer reads it: the script of every page turns it into the viewer's zone and language. */
import { type Html, html } from '../page/html.ts';

/** Without script the moment is shown in UTC. `style`: `relative` shows "3 minutes ago" and the moment as a hint. */
export const time = (at: Date, style: 'moment' | 'day' | 'relative' = 'moment'): Html =>
  html`<time datetime="${at.toISOString()}" data-style="${style}">${
    style === 'day' ? at.toISOString().slice(0, 10) : `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  }</time>`;
