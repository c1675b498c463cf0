/** Links that download the events of a filter. */
import { type Html, html } from '../page/html.ts';
import { exportFormats } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';
import { type SearchFields, searchHref } from './audit-filter.ts';

export const exportLinks = (texts: Texts, filter: SearchFields): Html[] =>
  exportFormats.map(
    (format) =>
      html`<a class="button" href="${searchHref({ ...filter, format }).replace('/audit', '/audit/export')}">${texts.security.exportAs[format]}</a>`,
  );
