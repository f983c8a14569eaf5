import {expect, test} from 'vitest';
import {drawDbtSources, members, questions} from '../../src/star/star.ts';

const text = drawDbtSources();

test('names every member and answer, with all columns and their descriptions', () => {
  for (const {name, comment, columns} of [...members, ...questions]) {
    expect(text).toContain(
      `      - name: ${name}\n        description: ${JSON.stringify(comment)}`,
    );
    for (const [column, , told] of columns)
      expect(text).toContain(
        `          - name: ${column}\n            description: ${JSON.stringify(told)}`,
      );
  }
});

test('a key is unique, and a key of a dimension is in it', () => {
  expect(text).toMatch(/- name: job_key\n.*\n {12}data_tests:\n {14}- unique\n {14}- not_null/);
  expect(text).toContain(
    `- relationships: {to: "source('fieldmirror', 'dim_customer')", field: customer_key}`,
  );
  expect(text).toContain('loaded_at_field: jobs_fresh_as_of');
});
