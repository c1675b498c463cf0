/** A time element; the script of every page shows it in the viewer's time zone and language. */
import { type Html, html } from '../page/html.ts';

/**
 * Without script the time is shown in UTC. The style `relative` shows "3 minutes ago", with the exact time as the
 * title.
 */
export const time = (at: Date, style: 'moment' | 'day' | 'relative' = 'moment'): Html =>
  html`<time datetime="${at.toISOString()}" data-style="${style}">${
    style === 'day' ? at.toISOString().slice(0, 10) : `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  }</time>`;
