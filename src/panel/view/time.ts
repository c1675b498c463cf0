/** A time element; the script of every page shows it in the viewer's time zone, language and 12- or 24-hour habit. */
import { type Html, html } from '../page/html.ts';

type TimeStyle = 'moment' | 'exact' | 'clock' | 'day' | 'date' | 'axis' | 'relative';

const textOf: Readonly<Record<TimeStyle, (iso: string) => string>> = {
  day: (iso) => iso.slice(0, 10),
  date: (iso) => iso.slice(0, 10),
  clock: (iso) => `${iso.slice(11, 19)} UTC`,
  exact: (iso) => `${iso.slice(0, 19).replace('T', ' ')} UTC`,
  moment: (iso) => `${iso.slice(0, 16).replace('T', ' ')} UTC`,
  axis: (iso) => `${iso.slice(5, 16).replace('T', ' ')} UTC`,
  relative: (iso) => `${iso.slice(0, 16).replace('T', ' ')} UTC`,
};

/**
 * Without script the time is shown in UTC. The style `exact` has seconds, and `clock` is the time of day with seconds, for
 * lists with a heading for each day. `date` is a whole day of UTC and has the same date in every zone. `axis` has no year, for
 * the ends of a chart. `relative` shows "3 minutes ago", with the exact time as the title.
 */
export const time = (at: Date, style: TimeStyle = 'moment'): Html =>
  html`<time datetime="${at.toISOString()}" data-style="${style}">${textOf[style](at.toISOString())}</time>`;

/** Seconds matter where events are compared, so the pages of security show every time with them. */
export const exactTime = (at: Date): Html => time(at, 'exact');
