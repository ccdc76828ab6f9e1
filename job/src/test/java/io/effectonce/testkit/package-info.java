/**
 * What tests of several packages share: real services, and pipelines and records written as users
 * write them.
 */
package io.effectonce.testkit;
