/**
 * Texts of callers, receivers and other servers, as they are safe to show: a control character could move the cursor, change
 * colours or reach the clipboard, so it becomes its escape in JSON.
 */

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Keeps line breaks and tabs. */
export const visible = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, escaped);

/** A value within a line, where a line break would begin a row that is none. */
export const visibleValue = (text: string): string => text.replaceAll(/\p{Cc}/gu, escaped);
