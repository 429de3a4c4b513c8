module org.example {
  requires transitive java.sql;
  exports org.example.api;
}
