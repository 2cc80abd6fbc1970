"""OpenSearch and Elasticsearch index bodies, one file for each server dialect."""
