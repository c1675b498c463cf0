/** Texts of the area "support". */
export const support = {};
